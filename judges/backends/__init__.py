"""The judges that come with the package."""
