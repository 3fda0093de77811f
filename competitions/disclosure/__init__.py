"""May this reader see this artefact? Everything that shows something asks this package.

    artefact                                          rule in
    scores, rows, order, ranks, plots, CSV, winners   scores.may_see_board
    that a submission counts, that a board exists     scores.may_see_that_it_counts, scores.may_know_board
    manifest of a board                               scores.may_see_manifest
    detailed results, for whoever sees the board      scores.details_are_public
    what is run or carried over because it counts     scores.boards_with_open_rows, scores.boards_to_carry_over
    mails on a reveal                                 scores.boards_to_announce
    logs, files, detailed results of one's own run    outputs.visible_streams, outputs.may_download
    scores by slice of a submission                   slices.may_see_slices, slices.slice_tables
    receipt: digests, remarks, times                  receipts.disclosed_receipt
    error text and meters, when a worker answers      outputs.disclosed_report, outputs.disclosed_meters

`readers.Reader` is who looks. Whether something *is* sealed is a state, and the catalog's models know it; what follows from that for a
reader is decided here. docs/sealing-and-winners.md has the table of artefacts by reader.
"""
