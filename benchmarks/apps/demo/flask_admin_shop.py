"""Administration pages over three tables. `python flask_admin_shop.py FOLDER PORT`"""

import sys

from flask import Flask
from flask_admin import Admin
from flask_admin.contrib.sqla import ModelView
from flask_sqlalchemy import SQLAlchemy

app = Flask(__name__)
app.config["SECRET_KEY"] = "for demonstrations on loopback only"
app.config["SQLALCHEMY_DATABASE_URI"] = f"sqlite:///{sys.argv[1]}/shop.sqlite"
base = SQLAlchemy(app)


class Customer(base.Model):
    id = base.Column(base.Integer, primary_key=True)
    name = base.Column(base.String(80))
    email = base.Column(base.String(80))
    city = base.Column(base.String(40))
    member = base.Column(base.Boolean, default=False)


class Product(base.Model):
    id = base.Column(base.Integer, primary_key=True)
    name = base.Column(base.String(80))
    price = base.Column(base.Float)


class Order(base.Model):
    id = base.Column(base.Integer, primary_key=True)
    product = base.Column(base.String(80))
    quantity = base.Column(base.Integer)
    status = base.Column(base.String(20))
    remark = base.Column(base.Text)


class Customers(ModelView):
    column_searchable_list = ("name", "email")
    column_filters = ("city", "member")
    page_size = 12


admin = Admin(app, name="Orchard")
admin.add_view(Customers(Customer, base.session))
admin.add_view(ModelView(Product, base.session))
admin.add_view(ModelView(Order, base.session))

if __name__ == "__main__":
    with app.app_context():
        base.create_all()
        for i, name in enumerate(
            ["Ann", "Boris", "Carla", "Deniz", "Emil", "Farah", "Greta", "Hugo", "Ines", "Jonas", "Kira", "Leo", "Mina"]
        ):
            base.session.add(
                Customer(
                    name=name, email=f"{name.lower()}@example.org", city=("Ghent", "Lyon")[i % 2], member=i % 3 == 0
                )
            )
            base.session.add(Product(name=f"Basket {i}", price=3.5 * i))
            base.session.add(Order(product=f"Basket {i}", quantity=i, status=("open", "in progress")[i % 2]))
        base.session.commit()
    app.run(port=int(sys.argv[2]))
