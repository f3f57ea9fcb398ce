"""What one does with scenarios: a folder or file for each."""
