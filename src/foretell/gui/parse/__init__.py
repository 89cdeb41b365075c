"""From an agent's text or structured tool call to a proposal, whatever form it was written in; and back."""

from foretell.gui.parse.faults import BadProposal, Reason
from foretell.gui.parse.reader import Form, parse, read
from foretell.gui.parse.scale import Scale
from foretell.gui.parse.write import to_anthropic, to_openai, to_python, to_qwen

__all__ = [
    "BadProposal",
    "Form",
    "Reason",
    "Scale",
    "parse",
    "read",
    "to_anthropic",
    "to_openai",
    "to_python",
    "to_qwen",
]
