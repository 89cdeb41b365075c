"""Writes a small shop as an SQLite database: customers, products, orders. `python shop.py FILE`"""

import random
import sqlite3
import sys

FIRST = [
    "Ann",
    "Boris",
    "Carla",
    "Deniz",
    "Emil",
    "Farah",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Kira",
    "Leo",
    "Mina",
    "Nils",
    "Olga",
    "Pavel",
    "Rosa",
    "Sven",
    "Tara",
    "Uwe",
]
LAST = [
    "Abel",
    "Brandt",
    "Costa",
    "Dahl",
    "Eriksen",
    "Fontaine",
    "Gruber",
    "Hansen",
    "Ivanov",
    "Jansen",
    "Keller",
    "Lopez",
    "Moreau",
    "Novak",
    "Okafor",
]
CITIES = [
    "Aarhus",
    "Bremen",
    "Cork",
    "Dresden",
    "Espoo",
    "Florence",
    "Ghent",
    "Haarlem",
    "Innsbruck",
    "Jena",
    "Kaunas",
    "Lyon",
]
FRUIT = [
    "Apple",
    "Pear",
    "Plum",
    "Cherry",
    "Quince",
    "Apricot",
    "Peach",
    "Fig",
    "Walnut",
    "Almond",
    "Medlar",
    "Mulberry",
]
STATES = ("open", "in progress", "shipped", "returned", "cancelled")


def people(count: int, seed: int = 7) -> list[tuple[str, str, str]]:
    """Name, e-mail address and city of `count` people."""
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        first, last = rng.choice(FIRST), rng.choice(LAST)
        rows.append((f"{first} {last}", f"{first}.{last}@example.org".lower(), rng.choice(CITIES)))
    return rows


def main(path: str) -> None:
    rng = random.Random(3)
    with sqlite3.connect(path) as base:
        base.execute("create table customers (id integer primary key, name text, email text, city text, notes text)")
        base.execute("create table products (id integer primary key, name text, category text, price real, stock int)")
        base.execute(
            "create table orders (id integer primary key, customer_id int references customers(id),"
            " product_id int references products(id), quantity int, status text, ordered text)"
        )
        for name, email, city in people(48):
            base.execute("insert into customers (name, email, city, notes) values (?, ?, ?, '')", (name, email, city))
        for kind in FRUIT:
            for form, price in (("tree", 39.5), ("seedling", 9.9), ("jam", 4.5)):
                stock = rng.randrange(90)
                row = (f"{kind} {form}", form, price + rng.randrange(9), stock)
                base.execute("insert into products (name, category, price, stock) values (?, ?, ?, ?)", row)
        for _ in range(160):
            row = (
                rng.randrange(1, 49),
                rng.randrange(1, 37),
                rng.randrange(1, 9),
                rng.choice(STATES),
                f"2025-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}",
            )
            base.execute(
                "insert into orders (customer_id, product_id, quantity, status, ordered) values (?, ?, ?, ?, ?)", row
            )


if __name__ == "__main__":
    main(sys.argv[1])
