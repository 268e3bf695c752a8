"""Drafts: the contract of a source, the driver of all sources, features, estimates, trees and copies."""
