"""What drafts are made of: the contract of a source, its driver, features, estimates, trees and copies."""
