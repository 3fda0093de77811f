"""Fields that forms of the admin and of the workspace share: sizes, images, formats of predictions."""
