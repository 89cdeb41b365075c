"""The web applications of the suite."""

from __future__ import annotations

from benchmarks.apps.application import Application

_PYTHON = "{home}/venv/bin/python"
_SHOP = (_PYTHON, "{demo}/shop.py", "{data}/shop.sqlite")


def _static(name: str, title: str, *packages: str) -> Application:
    """A JavaScript component in a page of `demo/`, served as files."""
    copy = ("cp", "{demo}/" + name + ".html", "{demo}/people.js", "{home}/")
    serve = ("python3", "-m", "http.server", "{port}", "--bind", "127.0.0.1", "--directory", "{home}")
    return Application(name, title, "npm", packages, serve, (copy,), paths=(f"/{name}.html",))


def _script(name: str, title: str, start: tuple[str, ...], *packages: str) -> Application:
    """A Python library that serves the script of its name in `demo/`."""
    return Application(name, title, "pypi", packages, start)


APPLICATIONS = (
    Application(
        "datasette",
        "Datasette",
        "pypi",
        ("datasette",),
        ("{home}/venv/bin/datasette", "{data}/shop.sqlite", "-p", "{port}"),
        (_SHOP,),
        paths=("/", "/shop/customers", "/shop/orders", "/shop/products?_facet=category"),
    ),
    Application(
        "sqlite_web",
        "the database browser",
        "pypi",
        ("sqlite-web",),
        ("{home}/venv/bin/sqlite_web", "-x", "-p", "{port}", "{data}/shop.sqlite"),
        (_SHOP,),
        paths=("/", "/customers/", "/orders/content/", "/products/query/", "/customers/insert/"),
    ),
    Application(
        "jupyterlab",
        "JupyterLab",
        "pypi",
        ("jupyterlab",),
        (
            *("{home}/venv/bin/jupyter", "lab", "--no-browser", "--allow-root", "--port", "{port}"),
            *("--ServerApp.token=", "--ServerApp.password=", "--ServerApp.root_dir={data}"),
        ),
        ((_PYTHON, "{demo}/notebooks.py", "{data}"),),
        paths=("/lab", "/lab/tree/sales.ipynb"),
    ),
    Application(
        "marimo",
        "marimo",
        "pypi",
        ("marimo",),
        (
            *("{home}/venv/bin/marimo", "edit", "{data}/sales.py", "--headless", "--no-token", "-p", "{port}"),
            "--skip-update-check",
        ),
        (("cp", "{demo}/marimo_notebook.py", "{data}/sales.py"),),
    ),
    Application(
        "mlflow",
        "MLflow",
        "pypi",
        ("mlflow", "setuptools<81"),
        (
            *("{home}/venv/bin/mlflow", "server", "--port", "{port}", "--workers", "1"),
            *("--backend-store-uri", "sqlite:///{data}/mlflow.sqlite"),
        ),
        ((_PYTHON, "{demo}/mlflow_runs.py", "{data}"),),
        paths=("/", "/#/experiments/1", "/#/models"),
    ),
    Application(
        "supervisor",
        "Supervisor",
        "pypi",
        ("supervisor", "setuptools<81"),
        ("{home}/venv/bin/supervisord", "-n", "-c", "{data}/supervisord.conf"),
        ((_PYTHON, "{demo}/supervisor_programs.py", "{data}", "{port}"),),
    ),
    Application(
        "trac",
        "Trac",
        "pypi",
        ("trac", "setuptools<81", "pygments"),
        ("{home}/venv/bin/tracd", "-s", "--hostname", "127.0.0.1", "--port", "{port}", "{data}/tracker"),
        (
            ("{home}/venv/bin/trac-admin", "{data}/tracker", "initenv", "Orchard", "sqlite:db/trac.db"),
            ("{home}/venv/bin/trac-admin", "{data}/tracker", "permission", "add", "anonymous", "TRAC_ADMIN"),
            (_PYTHON, "{demo}/trac_tickets.py", "{data}/tracker"),
        ),
        paths=("/wiki", "/report", "/newticket", "/query", "/admin", "/ticket/3"),
    ),
    Application(
        "radicale",
        "the calendar server",
        "pypi",
        ("radicale",),
        (
            *(_PYTHON, "-m", "radicale", "--server-hosts", "127.0.0.1:{port}", "--auth-type", "none"),
            *("--storage-filesystem-folder", "{data}"),
        ),
        ((_PYTHON, "{demo}/radicale_collections.py", "{data}"),),
        paths=("/.web/",),
        login=(
            ("#loginscene input[data-name=user]", "ann"),
            ("#loginscene input[data-name=password]", "orchard"),
        ),
    ),
    Application(
        "roundup",
        "the issue tracker",
        "pypi",
        ("roundup", "setuptools<81"),
        ("{home}/venv/bin/roundup-server", "-n", "127.0.0.1", "-p", "{port}", "demo={data}/demo"),
        ((_PYTHON, "{demo}/roundup_issues.py", "{data}/demo", "{port}"),),
        paths=("/demo/", "/demo/issue?@template=item", "/demo/user?@template=register", "/demo/issue1"),
    ),
    Application(
        "klaus",
        "the repository browser",
        "pypi",
        ("klaus", "setuptools<81"),
        ("{home}/venv/bin/klaus", "--port", "{port}", "{data}/orchard"),
        (("sh", "{demo}/repository.sh", "{data}/orchard"),),
        paths=("/", "/orchard/", "/orchard/tree/main/"),
    ),
    Application(
        "locust",
        "Locust",
        "pypi",
        ("locust",),
        ("{home}/venv/bin/locust", "-f", "{demo}/locustfile.py", "--web-host", "127.0.0.1", "--web-port", "{port}"),
    ),
    Application(
        "optuna_dashboard",
        "the study dashboard",
        "pypi",
        ("optuna-dashboard",),
        (
            *("{home}/venv/bin/optuna-dashboard", "sqlite:///{data}/studies.sqlite"),
            *("--host", "127.0.0.1", "--port", "{port}"),
        ),
        ((_PYTHON, "{demo}/optuna_studies.py", "{data}/studies.sqlite"),),
        paths=("/dashboard", "/dashboard/studies/1", "/dashboard/studies/2/trials"),
    ),
    Application(
        "django_admin",
        "the administration site",
        "pypi",
        ("django",),
        (_PYTHON, "{demo}/django_shop/manage.py", "runserver", "127.0.0.1:{port}", "--noreload"),
        (
            (_PYTHON, "{demo}/django_shop/manage.py", "migrate", "--run-syncdb", "-v", "0"),
            (_PYTHON, "{demo}/django_shop/manage.py", "fill"),
        ),
        paths=("/admin/", "/admin/shop/customer/", "/admin/shop/order/add/", "/admin/auth/user/"),
        login=(("#id_username", "ann"), ("#id_password", "orchard")),
    ),
    Application(
        "flask_admin",
        "the administration pages",
        "pypi",
        ("flask-admin[sqlalchemy]", "flask-sqlalchemy", "wtforms<3.2"),
        (_PYTHON, "{demo}/flask_admin_shop.py", "{data}", "{port}"),
        paths=("/admin/", "/admin/customer/", "/admin/order/new/", "/admin/product/"),
    ),
    _script("dash", "the sales dashboard", (_PYTHON, "{demo}/dash_sales.py", "{port}"), "dash", "pandas"),
    _script("gradio", "the demo", (_PYTHON, "{demo}/gradio_forms.py", "{port}"), "gradio"),
    _script(
        "streamlit",
        "the sales report",
        (
            *("{home}/venv/bin/streamlit", "run", "{demo}/streamlit_sales.py", "--server.port", "{port}"),
            *("--server.headless", "true", "--server.address", "127.0.0.1", "--browser.gatherUsageStats", "false"),
        ),
        "streamlit",
    ),
    _script(
        "panel",
        "the orchard dashboard",
        ("{home}/venv/bin/panel", "serve", "{demo}/panel_orchard.py", "--port", "{port}", "--address", "127.0.0.1"),
        "panel",
    ),
    _static("formio", "the form builder", "@formio/js", "bootstrap@5", "bootstrap-icons"),
    _static(
        "survey_creator",
        "the survey editor",
        *(f"survey-{part}@2.3.0" for part in ("core", "js-ui", "creator-core", "creator-js")),
    ),
    _static("fullcalendar", "the calendar", "fullcalendar"),
    _static("toastui_calendar", "the calendar", "@toast-ui/calendar", "tui-date-picker", "tui-time-picker"),
    _static("handsontable", "the table", "handsontable"),
    _static("x_spreadsheet", "the spreadsheet", "x-data-spreadsheet"),
    _static("tabulator", "the staff table", "tabulator-tables"),
    _static("tinymce", "the text editor", "tinymce"),
    _static("grapesjs", "the page builder", "grapesjs"),
    _static("swagger_ui", "the API browser", "swagger-ui-dist"),
    Application(
        "tiddlywiki",
        "the wiki",
        "npm",
        ("tiddlywiki",),
        ("{home}/node_modules/.bin/tiddlywiki", "{data}/wiki", "--listen", "port={port}", "host=127.0.0.1"),
        (
            ("{home}/node_modules/.bin/tiddlywiki", "{data}/wiki", "--init", "server"),
            ("python3", "{demo}/tiddlers.py", "{data}/wiki/tiddlers"),
        ),
    ),
    Application(
        "node_red",
        "the flow editor",
        "npm",
        ("node-red",),
        ("{home}/node_modules/.bin/node-red", "-p", "{port}", "-u", "{data}", "{data}/flows.json"),
        (("cp", "{demo}/node_red_flows.json", "{data}/flows.json"),),
    ),
    Application(
        "maildev",
        "the mailbox",
        "npm",
        ("maildev@2.1",),
        ("{home}/node_modules/.bin/maildev", "--ip", "127.0.0.1", "--web", "{port}", "--smtp", "{port2}"),
        filled=(("python3", "{demo}/mails.py", "{port2}"),),
    ),
    Application(
        "adminer",
        "Adminer",
        "debian",
        ("adminer", "php-cli", "php-sqlite3"),
        ("php", "-S", "127.0.0.1:{port}", "-t", "{data}"),
        (("python3", "{demo}/shop.py", "{data}/shop.sqlite"), ("python3", "{demo}/adminer_page.py", "{data}")),
    ),
    Application(
        "syncthing",
        "Syncthing",
        "debian",
        ("syncthing",),
        (
            *("syncthing", "serve", "--no-browser", "--no-upgrade", "--no-restart", "--home={data}"),
            "--gui-address=127.0.0.1:{port}",
        ),
    ),
    Application(
        "transmission",
        "Transmission",
        "debian",
        ("transmission-daemon",),
        (
            *("transmission-daemon", "-f", "-p", "{port}", "-g", "{data}", "--no-auth", "-r", "127.0.0.1"),
            *("-w", "{data}", "-c", "{data}/watch", "--paused"),
        ),
        (("python3", "{demo}/torrents.py", "{data}"),),
        paths=("/transmission/web/",),
    ),
)
