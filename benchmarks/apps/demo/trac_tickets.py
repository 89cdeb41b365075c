"""Files tickets in a Trac environment. `python trac_tickets.py ENVIRONMENT`"""

import sys

from trac.env import open_environment
from trac.ticket.model import Ticket

TICKETS = (
    ("The fence of the south field is broken", "ann", "major"),
    ("Order 200 labels for jam jars", "boris", "minor"),
    ("Login page shows an error after midnight", "carla", "critical"),
    ("Printer in the office does not answer", "deniz", "minor"),
    ("Write the programme of the open day", "emil", "major"),
    ("Newsletter is sent twice", "greta", "blocker"),
    ("Add quinces to the price list", "hugo", "trivial"),
    ("Backup takes more than two hours", "ines", "major"),
)


def main(path: str) -> None:
    env = open_environment(path)
    for summary, reporter, priority in TICKETS:
        ticket = Ticket(env)
        ticket["summary"], ticket["reporter"], ticket["priority"] = summary, reporter, priority
        ticket["description"], ticket["status"], ticket["type"] = f"{summary}. Please look into it.", "new", "task"
        ticket["owner"], ticket["component"] = "ann", "component1"
        ticket.insert()
    env.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
