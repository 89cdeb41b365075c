"""A sales dashboard. `python dash_sales.py PORT`"""

import sys

from dash import Dash, Input, Output, State, dash_table, dcc, html

SALES = [
    {"month": m, "shop": s, "sales": 10 * len(m) + 7 * len(s)}
    for m in ("May", "June", "July")
    for s in ("Town", "Farm", "Online")
]
app = Dash(__name__)
app.layout = html.Div(
    [
        html.H1("Sales"),
        html.Label("Shop", htmlFor="shop"),
        dcc.Dropdown(["Town", "Farm", "Online"], "Town", id="shop"),
        dcc.RadioItems(["May", "June", "July"], "May", id="month"),
        dcc.Checklist(["With taxes", "With returns"], id="with"),
        html.Label("Remark", htmlFor="remark"),
        dcc.Input(id="remark", placeholder="Remark", type="text"),
        html.Button("Save remark", id="save"),
        html.Button("Export table", id="export", disabled=True),
        html.P(id="message"),
        dcc.Tabs(
            [
                dcc.Tab(
                    label="Table",
                    children=dash_table.DataTable(SALES, sort_action="native", filter_action="native", page_size=6),
                ),
                dcc.Tab(label="Chart", children=dcc.Graph(id="chart")),
                dcc.Tab(label="Notes", children=dcc.Textarea(id="notes", placeholder="Notes of the team")),
            ]
        ),
    ],
    style={"fontFamily": "sans-serif", "margin": "24px"},
)


@app.callback(Output("chart", "figure"), Input("shop", "value"))
def chart(shop: str) -> dict:
    own = [row for row in SALES if row["shop"] == shop]
    return {
        "data": [{"x": [r["month"] for r in own], "y": [r["sales"] for r in own], "type": "bar"}],
        "layout": {"title": shop},
    }


@app.callback(Output("message", "children"), Input("save", "n_clicks"), State("remark", "value"))
def saved(clicks: int | None, remark: str | None) -> str:
    return f"Saved: {remark}" if clicks else ""


if __name__ == "__main__":
    app.run(port=int(sys.argv[1]), debug=False)
