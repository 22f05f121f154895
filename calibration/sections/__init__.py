"""Results as sections of a report: the terminal shows their texts and tables, an HTML page the pictures too."""
