"""Writes calendars and address books. `python radicale_collections.py FOLDER`"""

import json
import sys
from pathlib import Path

COLLECTIONS = (
    ("Harvest", "VCALENDAR", "#3366aaff"),
    ("Office", "VCALENDAR", "#aa6633ff"),
    ("Holidays", "VCALENDAR", "#669933ff"),
    ("Members", "VADDRESSBOOK", "#993366ff"),
)


def main(folder: Path) -> None:
    for name, kind, colour in COLLECTIONS:
        at = folder / "collection-root" / "ann" / name.lower()
        at.mkdir(parents=True)
        prefix, key = ("CR", "ICAL:calendar-color") if kind == "VADDRESSBOOK" else ("C", "ICAL:calendar-color")
        text = {"tag": kind, "D:displayname": name, f"{prefix}:description": f"{name} of the orchard", key: colour}
        (at / ".Radicale.props").write_text(json.dumps(text), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
