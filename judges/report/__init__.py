"""What a report says, as sections that a terminal and a page both show; and the page: one HTML file with pictures."""
