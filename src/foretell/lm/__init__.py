"""Language models behind one door: HTTP endpoints, local weights, files of requests and answers.

Knows nothing of kernels, and importing it imports neither torch nor a model library: `make_model` loads what a name
asks for.
"""

from foretell.lm.budget import Budget, Spend
from foretell.lm.cache import Cached
from foretell.lm.files import FileModel
from foretell.lm.image import Image
from foretell.lm.model import Failure, LanguageModel, Message, Reply, Request, Trouble, Usage
from foretell.lm.names import BadModelName, is_model_name, make_model

__all__ = [
    "BadModelName",
    "Budget",
    "Cached",
    "Failure",
    "FileModel",
    "Image",
    "LanguageModel",
    "Message",
    "Reply",
    "Request",
    "Spend",
    "Trouble",
    "Usage",
    "is_model_name",
    "make_model",
]
