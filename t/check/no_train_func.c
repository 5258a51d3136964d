/* A shared object that is no training function. */
int training_function(void);

int training_function(void)
{
    return 0;
}
