"""Sends a mailbox full of messages to a local SMTP server. `python mails.py PORT`"""

import smtplib
import sys
from email.message import EmailMessage

MAILS = (
    ("Greta Keller", "Minutes of the meeting", "Dear all,\n\nthe minutes are attached. Please send changes by Friday."),
    ("Hugo Lopez", "Invoice 2025-117", "The invoice for 40 pear seedlings is due on 30 May. Total: 396 EUR."),
    ("Cooperative North", "Delivery moved to Thursday", "Our lorry comes on Thursday at 9 instead of Wednesday."),
    ("Ines Moreau", "Question about the cider press", "Can we use the press on the second weekend in October?"),
    ("Tara Okafor", "Photographs of the harvest", "Here are the pictures of last Saturday."),
    ("Library of Ghent", "Your loan is overdue", "The book 'Old apple varieties' was due on 2 May."),
    ("Nils Hansen", "Re: Bee hives", "Six hives would fit behind the barn. Shall I order them?"),
    ("Weather service", "Frost warning for tonight", "Temperatures fall to -2 degrees. Protect blossoms."),
    ("Carla Brandt", "Holiday request", "I would like to take leave from 4 to 15 August."),
    ("Shop", "Order 5512 was returned", "The customer returned two jars of quince jam."),
    ("Bank", "Monthly statement", "Your statement for April is ready."),
    ("Emil Jansen", "Plan for the new field", "The plan shows three rows of plums. What do you think?"),
)


def main(port: int) -> None:
    with smtplib.SMTP("127.0.0.1", port) as server:
        for name, subject, text in MAILS:
            message = EmailMessage()
            address = name.lower().replace(" ", ".")
            message["From"], message["To"] = f"{name} <{address}@example.org>", "ann@example.org"
            message["Subject"] = subject
            message.set_content(text)
            message.add_alternative(f"<p>{text}</p><p><a href='#more'>Read more</a></p>", subtype="html")
            server.send_message(message)


if __name__ == "__main__":
    main(int(sys.argv[1]))
