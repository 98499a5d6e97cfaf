from ._kernel import GreedyKernelRLS as GreedyKernelRLS
from ._kernel import GreedyKernelRLSClassifier as GreedyKernelRLSClassifier
from ._linear import GreedyRLSClassifier as GreedyRLSClassifier
from ._linear import GreedyRLSRegressor as GreedyRLSRegressor
from ._ranker import GreedyRLSRanker as GreedyRLSRanker
