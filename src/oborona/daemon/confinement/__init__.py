"""What processes of ours give up, so that whoever takes one over has little of the machine: `kinds`
has the lists, `program` puts them in force.
"""
