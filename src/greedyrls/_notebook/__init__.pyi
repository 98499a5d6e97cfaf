from ._html import assessment_html as assessment_html
from ._html import estimator_html as estimator_html
from ._html import null_html as null_html
from ._html import path_html as path_html
from ._html import stability_html as stability_html
