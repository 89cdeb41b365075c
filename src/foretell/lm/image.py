"""A picture in a message. Its bytes go to the model and nowhere else: names, hashes and logs know only its digest."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from functools import cached_property

_STARTS = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff", "image/webp": b"RIFF"}
TEXT_ONLY = "this model is asked in text only: use an openai: endpoint that sees, or files:FOLDER?pictures=yes"


@dataclass(frozen=True)
class Image:
    """An encoded picture; `media` is its type. Printing one shows no pixels."""

    data: bytes = field(repr=False)
    media: str = "image/png"

    def __post_init__(self) -> None:
        if self.media not in _STARTS:
            raise ValueError(f"a picture's type is one of {', '.join(_STARTS)}, got {self.media!r}")
        if not self.data.startswith(_STARTS[self.media]):
            raise ValueError(f"these bytes are no {self.media}")

    @cached_property
    def digest(self) -> str:
        """What stands for the bytes wherever a request is hashed, written or compared."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def url(self) -> str:
        """The picture as a `data:` URL, which is how chat formats carry it."""
        return f"data:{self.media};base64,{base64.b64encode(self.data).decode()}"

    def to_dict(self) -> dict[str, str]:
        return {"media": self.media, "sha256": self.digest}
