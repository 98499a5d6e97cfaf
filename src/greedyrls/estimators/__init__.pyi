from ._kernel import GreedyKernelRLS as GreedyKernelRLS
from ._kernel import GreedyKernelRLSClassifier as GreedyKernelRLSClassifier
from ._linear import GreedyRLSClassifier as GreedyRLSClassifier
from ._ranker import GreedyRLSRanker as GreedyRLSRanker
from ._regressor import GreedyRLSRegressor as GreedyRLSRegressor
