"""Datasets that are downloaded, each as one dataset with its split."""
