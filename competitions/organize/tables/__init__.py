"""What a program of its own does with the tables of a draft: the table library has threads, which a fork does not survive.

`python -m competitions.organize.tables REQUEST` prints the answer. No Django in here, and the site loads none of it.
"""
