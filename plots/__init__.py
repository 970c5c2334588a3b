"""One script a figure; each draws numbers that refimpl's own public functions return.

A script has a docstring (title, what to see, why it matters), FORMULA, SOURCE and ALT (plain text), `data()`, which
returns the numbers, and `figure()`, which draws them. `gallery.CHAPTERS` is the order.
"""
