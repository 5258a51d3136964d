class Callback:
    def on_train_epoch_end(self, trainer, pl_module):
        pass
