"""The figures of the pages: a module each, with `draw()`."""
