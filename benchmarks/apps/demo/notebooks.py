"""Writes a folder with notebooks, tables and notes. `python notebooks.py FOLDER`"""

import json
import sys
from pathlib import Path

CELLS = (
    ("markdown", "# Sales of the orchard\nFigures of the last year, by quarter."),
    ("code", "sales = {'spring': 120, 'summer': 340, 'autumn': 610, 'winter': 95}"),
    ("code", "for season, count in sales.items():\n    print(season, count)"),
    ("markdown", "## Next steps\n- compare with last year\n- ask the shop"),
    ("code", "max(sales, key=sales.get)"),
)


def main(folder: Path) -> None:
    for name in ("archive", "images", "reports"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    cells = [
        {"cell_type": kind, "metadata": {}, "source": text, "id": f"cell{i}"}
        | ({"outputs": [], "execution_count": None} if kind == "code" else {})
        for i, (kind, text) in enumerate(CELLS)
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    for name in ("sales", "harvest", "weather"):
        (folder / f"{name}.ipynb").write_text(json.dumps(book), encoding="utf-8")
    (folder / "people.csv").write_text("name,team,hours\nAnn,Shop,20\nBoris,Cellar,31\nCarla,Office,12\n")
    (folder / "README.md").write_text("# Notes\n\nStart with *sales.ipynb*.\n")
    (folder / "reports" / "may.txt").write_text("Frost on the 4th. Blossoms came late.\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
