"""Writes a configuration with a few programs that sleep. `python supervisor_programs.py FOLDER PORT`"""

import sys
from pathlib import Path

PROGRAMS = ("web", "mailer", "backup", "indexer", "thumbnails", "reports", "scheduler", "cleanup")


def main(folder: Path, port: str) -> None:
    text = f"[supervisord]\nlogfile={folder}/log\npidfile={folder}/pid\nuser=root\n"
    text += f"[inet_http_server]\nport=127.0.0.1:{port}\n"
    for number, name in enumerate(PROGRAMS):
        command = f'/bin/sh -c "while true; do echo {name} works; sleep 5; done"'
        auto = "true" if number % 3 else "false"
        text += f"[program:{name}]\ncommand={command}\nautostart={auto}\nstdout_logfile={folder}/{name}.log\n"
    (folder / "supervisord.conf").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
