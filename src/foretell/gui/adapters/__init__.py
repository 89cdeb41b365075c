"""Real screens: a browser page, a Gymnasium environment, an X11 desktop, an Android device. Import the one you need."""
