"""Pictures of a message: gathered from it, looked at, read, and what they say put into it.

    album    which pictures a message holds, within limits; in the scan
    look     a picture decoded: size, perceptual hash, QR codes; in a process of its own
    read     its text, by OCR; in a process of its own
    seen     what was found, put into the message: links, addresses, telephones
    pieces   what of it is counted

`look` and `read` need libraries of some 100 MB, and are imported where they run and nowhere else.
"""
