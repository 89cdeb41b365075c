"""Two forms in tabs. `python gradio_forms.py PORT`"""

import sys

import gradio as gr


def order(name: str, fruit: str, kilograms: float, gift: bool, note: str) -> str:
    return f"{name} orders {kilograms} kg of {fruit}{' as a gift' if gift else ''}. {note}"


with gr.Blocks(title="Orchard") as demo:
    gr.Markdown("# Orchard shop")
    with gr.Tab("Order"):
        name = gr.Textbox(label="Customer name", placeholder="First and last name")
        fruit = gr.Radio(["Apples", "Pears", "Quinces"], label="Fruit", value="Apples")
        kilograms = gr.Slider(1, 50, value=5, step=1, label="Kilograms")
        gift = gr.Checkbox(label="Wrap as a gift")
        note = gr.Textbox(label="Message", lines=2)
        with gr.Row():
            send = gr.Button("Place order", variant="primary")
            clear = gr.ClearButton([name, note], value="Clear form")
            gr.Button("Pay later", interactive=False)
        said = gr.Textbox(label="Confirmation")
        send.click(order, [name, fruit, kilograms, gift, note], said)
    with gr.Tab("Newsletter"):
        mail = gr.Textbox(label="E-mail address")
        topics = gr.CheckboxGroup(["Harvest", "Events", "Recipes"], label="Topics")
        join = gr.Button("Subscribe")
        done = gr.Markdown()
        join.click(lambda address, chosen: f"Subscribed {address} to {len(chosen)} topics", [mail, topics], done)
    with gr.Accordion("About the shop", open=False):
        gr.Markdown("Open on weekdays from 9 to 17.")

if __name__ == "__main__":
    demo.launch(server_name="127.0.0.1", server_port=int(sys.argv[1]), quiet=True)
