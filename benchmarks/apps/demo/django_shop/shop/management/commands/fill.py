"""Demo data and the account ann / orchard."""

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand

from shop.models import Customer, Order, Product

NAMES = [
    "Ann Abel",
    "Boris Dahl",
    "Carla Costa",
    "Deniz Keller",
    "Emil Hansen",
    "Farah Lopez",
    "Greta Novak",
    "Hugo Moreau",
]
CITIES = ("Ghent", "Lyon", "Cork")


class Command(BaseCommand):
    def handle(self, *args: object, **options: object) -> None:
        User.objects.create_superuser("ann", "ann@example.org", "orchard")
        User.objects.create_user("boris", "boris@example.org", "cellar")
        customers = [
            Customer.objects.create(
                name=n, email=f"{n.split()[0].lower()}@example.org", city=CITIES[i % 3], member=i % 2 == 0
            )
            for i, n in enumerate(NAMES)
        ]
        products = [
            Product.objects.create(name=n, price=4 + i, stock=10 * i)
            for i, n in enumerate(("Jam", "Cider", "Seedling", "Basket"))
        ]
        for i in range(24):
            status = ("Open", "In progress", "Shipped")[i % 3]
            Order.objects.create(customer=customers[i % 8], product=products[i % 4], quantity=1 + i % 5, status=status)
