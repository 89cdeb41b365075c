"""Writes torrents of nothing into the watched folder. `python torrents.py FOLDER`"""

import hashlib
import sys
from pathlib import Path

NAMES = ("orchard-photos", "cider-course.mp4", "soil-maps", "bird-songs.ogg", "old-varieties.pdf", "weather-2024.csv")


def encoded(value: object) -> bytes:
    if isinstance(value, int):
        return b"i%de" % value
    if isinstance(value, bytes):
        return b"%d:%s" % (len(value), value)
    if isinstance(value, str):
        return encoded(value.encode())
    assert isinstance(value, dict)
    return b"d" + b"".join(encoded(key) + encoded(value[key]) for key in sorted(value)) + b"e"


def main(folder: Path) -> None:
    (folder / "watch").mkdir()
    for number, name in enumerate(NAMES):
        pieces = hashlib.sha1(name.encode()).digest()
        info = {"name": name, "length": 12000 + 999 * number, "piece length": 32768, "pieces": pieces}
        torrent = {"announce": "http://127.0.0.1:9/announce", "info": info}
        (folder / "watch" / f"{name}.torrent").write_bytes(encoded(torrent))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
