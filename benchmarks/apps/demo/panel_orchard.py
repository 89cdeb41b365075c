"""A dashboard with tabs, filters and a form."""

import panel as pn

dark = "dark" if pn.config.theme == "dark" else "default"
pn.extension("tabulator", theme=dark)
crop = pn.widgets.Select(name="Crop", options=["Apples", "Pears", "Plums"])
year = pn.widgets.IntSlider(name="Year", start=2018, end=2025, value=2023)
fields = pn.widgets.CheckBoxGroup(name="Fields", options=["North", "South", "Slope"], value=["North"])
unit = pn.widgets.RadioButtonGroup(name="Unit", options=["Kilograms", "Crates", "Euros"])
note = pn.widgets.TextInput(name="Note", placeholder="Remark on this year")
author = pn.widgets.TextInput(name="Author", placeholder="Your name")
save = pn.widgets.Button(name="Save note", button_type="primary")
reset = pn.widgets.Button(name="Reset filters")
export = pn.widgets.Button(name="Export", disabled=True)
notes = pn.widgets.Checkbox(name="Notify the team")
message = pn.pane.Markdown("Nothing saved yet.")


def on_save(event: object) -> None:
    message.object = f"Saved: **{note.value}** by {author.value or 'nobody'}."


def on_reset(event: object) -> None:
    crop.value, year.value, fields.value = "Apples", 2023, ["North"]


def figures(crop: str, year: int, fields: list[str], unit: str) -> str:
    rows = "\n".join(f"| {name} | {(year - 2000) * len(name) * len(crop)} |" for name in fields)
    return f"### {crop} in {year}\n\n| Field | {unit} |\n| --- | --- |\n{rows}"


save.on_click(on_save)
reset.on_click(on_reset)
form = pn.Column("## Notes", note, author, notes, pn.Row(save, reset, export), message)
shown = pn.bind(figures, crop, year, fields, unit)
tabs = pn.Tabs(("Harvest", pn.Column(unit, shown)), ("Notes", form), ("About", "Figures of the cooperative."))
pn.template.FastListTemplate(title="Orchard", sidebar=[crop, year, fields], main=[tabs]).servable()
