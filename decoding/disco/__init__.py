"""DISCO: a small classifier reads the draft's distribution and decides after each drafted token whether to go on. This
package has its features, training and estimates."""
