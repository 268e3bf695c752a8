"""Drafts: the contract of a source, the driver of all sources, features, trees and copies."""
