from django.db import models


class Customer(models.Model):
    name = models.CharField(max_length=80)
    email = models.EmailField()
    city = models.CharField(max_length=40, blank=True)
    member = models.BooleanField(default=False)

    def __str__(self) -> str:
        return self.name


class Product(models.Model):
    name = models.CharField(max_length=80)
    price = models.DecimalField(max_digits=8, decimal_places=2)
    stock = models.IntegerField(default=0)

    def __str__(self) -> str:
        return self.name


class Order(models.Model):
    customer = models.ForeignKey(Customer, models.CASCADE)
    product = models.ForeignKey(Product, models.CASCADE)
    quantity = models.IntegerField(default=1)
    status = models.CharField(
        max_length=20, choices=[(s, s) for s in ("Open", "In progress", "Shipped")], default="Open"
    )
    remark = models.TextField(blank=True)
