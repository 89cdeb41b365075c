from locust import HttpUser, between, task


class Visitor(HttpUser):
    host = "http://127.0.0.1:9"
    wait_time = between(1, 3)

    @task
    def home(self) -> None:
        self.client.get("/")


class Buyer(HttpUser):
    host = "http://127.0.0.1:9"
    wait_time = between(2, 5)

    @task
    def basket(self) -> None:
        self.client.get("/basket")
