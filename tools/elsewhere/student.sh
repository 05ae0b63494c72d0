# This system and its Python, in a folder with a space and a letter that isn't English.
here
clone "my Übung"
in_lab "make test"
