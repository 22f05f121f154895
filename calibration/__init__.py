"""Holds a judge against human labels: how far can it be trusted?"""
