import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo

    return (mo,)


@app.cell
def _(mo):
    mo.md("# Orchard\n\nHow much jam can be made of the harvest?")
    return


@app.cell
def _(mo):
    kilograms = mo.ui.slider(10, 500, value=120, label="Kilograms of fruit")
    fruit = mo.ui.dropdown(["apple", "pear", "quince"], value="pear", label="Fruit")
    organic = mo.ui.checkbox(label="Organic")
    name = mo.ui.text(label="Name of the batch", placeholder="Autumn 1")
    mo.vstack([kilograms, fruit, organic, name])
    return fruit, kilograms, name, organic


@app.cell
def _(kilograms):
    jars = kilograms.value * 3
    f"{jars} jars"
    return (jars,)


@app.cell
def _(mo):
    mo.ui.table([{"batch": i, "jars": 30 + 7 * i, "cook": cook} for i, cook in enumerate(["Ann", "Boris", "Carla"])])
    return


if __name__ == "__main__":
    app.run()
