"""What a new interpreter does with the tables of a draft: no Django in here. `program` is what the site calls."""
