"""Writes the pages of a small wiki. `python tiddlers.py FOLDER`"""

import sys
from pathlib import Path

PAGES = {
    "Orchard": "Trees stand in four fields: [[North field]], [[South field]], [[Slope]] and [[Garden]].",
    "North field": "! Trees\n* 40 apples\n* 12 quinces\n\nNext task: [[Pruning]].",
    "South field": "! Trees\n* 30 pears\n\nNeeds a fence before winter.",
    "Slope": "Plums and cherries. Too steep for the tractor.",
    "Garden": "Herbs and beans behind the house.",
    "Pruning": "Done between January and March. See [[Calendar]].",
    "Calendar": "* March: pruning ends\n* May: blossoms\n* September: [[Harvest]]",
    "Harvest": "Helpers are welcome. Gloves and baskets are in the barn.",
    "Recipes": "* Quince jam\n* Apple cake\n* Pear butter",
}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for title, text in PAGES.items():
        (folder / f"{title}.tid").write_text(f"title: {title}\ntags: orchard\n\n{text}\n", encoding="utf-8")
    (folder / "DefaultTiddlers.tid").write_text("title: $:/DefaultTiddlers\n\nOrchard [[North field]] Calendar\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
