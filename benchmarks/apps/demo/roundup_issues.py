"""Makes a classic tracker with issues. `python roundup_issues.py FOLDER PORT`"""

import sys

from roundup import configuration, init, instance, password

TITLES = (
    "Fence of the south field is broken", "Order labels for jam jars", "Login page shows an error after midnight",
    "Printer does not answer", "Newsletter is sent twice", "Add quinces to the price list", "Backup takes too long",
)  # fmt: skip


def main(folder: str, port: str) -> None:
    template = init.listTemplates(f"{sys.prefix}/share/roundup/templates")["classic"]["path"]
    init.install(folder, template)
    config = configuration.CoreConfig(folder)
    config["TRACKER_WEB"], config["MAIL_DOMAIN"] = f"http://127.0.0.1:{port}/demo/", "example.org"
    config["MAIL_HOST"], config["RDBMS_BACKEND"], config["MAIL_DEBUG"] = "127.0.0.1", "sqlite", f"{folder}/mail"
    config.save()
    tracker = instance.open(folder)
    tracker.init(password.Password("orchard", config=config), tx_Source="cli")
    base = tracker.open("admin")
    for number, title in enumerate(TITLES):
        base.issue.create(title=title, priority=str(1 + number % 5), status=str(1 + number % 4))
    base.commit()
    base.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
