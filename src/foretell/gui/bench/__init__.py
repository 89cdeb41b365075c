"""The real-page bench: MiniWoB++ tasks in headless Chromium, oracles that solve them, and labels from the DOM."""
