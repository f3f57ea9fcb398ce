"""What `ackclock view` and `ackclock serve` show: scenarios, recorded runs, papers, studies, lists of folders.

`opening` decides what the page of a target is; `recording` and `recorded` make and read recorded runs; `listing` has
the lists; `server`, `serve` and `classroom` serve pages.
"""
