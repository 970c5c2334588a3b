"""The ops with one node of their source changed at a time: does the pack notice?

sources.py: what is changed · rules.py, tables.py: how · mutate.py: one mutant, made and undone
judge.py: the cases that meet it · sweep.py: all of them, in processes · report.py: the table
equivalent.toml: those that no case can tell, each with its reason
"""
