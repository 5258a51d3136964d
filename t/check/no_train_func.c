/* A shared object without a training function. */
int training_function(void);

int training_function(void)
{
    return 0;
}
