"""One module per kind of file that holds a table; `tables.files` is the door to all of them."""
