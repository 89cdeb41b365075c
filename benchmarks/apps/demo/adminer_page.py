"""Writes the page that serves Adminer with the demo database opened. `python adminer_page.py FOLDER`"""

import sys
from pathlib import Path

PLACES = ("/usr/share/adminer/adminer.php", "/usr/share/adminer/adminer/index.php", "/etc/adminer/adminer.php")
PAGE = """<?php
if (!$_GET) {{
  $_POST["auth"] = ["driver" => "sqlite", "server" => "", "username" => "ann", "password" => "",
    "db" => "{base}"];
}}
function adminer_object() {{
  class Demo extends Adminer {{ function login($login, $password) {{ return true; }} }}
  return new Demo;
}}
chdir(dirname("{page}"));
include "{page}";
"""


def main(folder: Path) -> None:
    page = next(place for place in PLACES if Path(place).is_file())
    (folder / "index.php").write_text(PAGE.format(base=folder / "shop.sqlite", page=page), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
